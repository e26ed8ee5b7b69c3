import java.sql.*;

public class Ask {
    static final String BY_SEX = "SELECT sex, COUNT(*) FROM patient GROUP BY sex ORDER BY sex";
    static String url;

    static void show(String name, ResultSet rows) throws SQLException {
        int width = rows.getMetaData().getColumnCount();
        while (rows.next()) {
            StringBuilder line = new StringBuilder(name);
            for (int i = 1; i <= width; i++) line.append(" ").append(rows.getString(i));
            System.out.println(line);
        }
    }

    public static void main(String[] given) throws SQLException {
        url = "jdbc:postgresql://" + given[0] + ":" + given[1] + "/clinic?user=ana&preferQueryMode=" + given[2];
        try (Connection c = DriverManager.getConnection(url)) {
            Statement s = c.createStatement();
            System.out.println("version " + c.getMetaData().getDriverVersion());
            show("one", s.executeQuery("SELECT 1"));
            show("sex", s.executeQuery(BY_SEX));
            PreparedStatement born = c.prepareStatement("SELECT COUNT(*) FROM patient WHERE birth_year > ?");
            for (int turn = 0; turn < 8; turn++) {
                born.setInt(1, 1980);
                show("born", born.executeQuery());
            }
            show("height", s.executeQuery("SELECT AVG(height_cm) FROM patient"));
            c.setAutoCommit(false);
            PreparedStatement region = c.prepareStatement(
                "SELECT region, COUNT(*) FROM patient WHERE region < ? GROUP BY region ORDER BY region");
            region.setString(1, "I");
            region.setFetchSize(1);
            show("region", region.executeQuery());
            show("inside", s.executeQuery("SELECT COUNT(*) FROM patient WHERE birth_year > 1980"));
            c.commit();
            c.setAutoCommit(true);
            PreparedStatement day = c.prepareStatement(
                "SELECT day, COUNT(*) FROM visit WHERE day BETWEEN ? AND ? GROUP BY day ORDER BY day");
            day.setDate(1, Date.valueOf("2025-03-04"));
            day.setDate(2, Date.valueOf("2025-03-06"));
            show("day", day.executeQuery());
            try {
                s.executeQuery("SELECT * FROM patient");
            } catch (SQLException error) {
                System.out.println("refused " + error.getSQLState());
            }
            show("after", s.executeQuery("SELECT 1"));
            ResultSet tables = c.getMetaData().getTables(null, "public", "%", new String[] {"TABLE"});
            while (tables.next()) System.out.println("table " + tables.getString("TABLE_NAME"));
            ResultSet columns = c.getMetaData().getColumns(null, "public", "visit", "%");
            while (columns.next())
                System.out.println("column " + columns.getString("COLUMN_NAME") + " " + columns.getString("TYPE_NAME"));
        }
        try (Connection c = DriverManager.getConnection(url)) {
            show("again", c.createStatement().executeQuery(BY_SEX));
        }
    }
}
